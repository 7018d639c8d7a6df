package root

import (
	"strings"

	"github.com/spf13/cobra"
)

// examples are the examples of each command, a line each: the command line and, behind two spaces, its effect.
var examples = map[string]string{
	"husk": `
husk new quickstart shop  begin a project
husk preview  show what an update would do
husk up  do it
husk stack output  show the results
husk destroy  delete everything`,
	"husk new": `
husk new --list  list the templates
husk new quickstart shop  begin a project in the directory shop
husk new provider greet  begin a provider in the directory greet`,
	"husk up": `
husk up  plan, ask, and do it
husk up --yes  plan and do it, as in CI
husk up --target '**::web'  only the resource with the name web
husk up --plan plan.json  exactly what the plan says
husk up --refresh  read the actual state first`,
	"husk preview": `
husk preview --diff  with what differs in each resource
husk preview --detailed-exitcode  exit with 2 if there are changes
husk preview --save-plan plan.json  save the plan for husk up --plan
husk preview --json  events as JSON lines`,
	"husk refresh": `
husk refresh --preview-only  show what has drifted
husk refresh --yes  record the actual state`,
	"husk server": `
husk server  serve at 127.0.0.1:8470, with SQLite
husk server --database postgres://husk@db.example/husk --listen :443 --tls-cert c.pem --tls-key k.pem  for a team
husk server token acme ann admin  issue a token
husk server status  show the queue and the workers`,
	"husk worker": `
husk worker --server https://husk.example.com  take runs
husk worker --label region=eu --slots 8  also runs that ask for the label, eight at once
husk worker --edge --dir /var/lib/husk --every 10m  for a machine that is often offline
husk worker --trusted  with your rights, for projects that you trust`,
	"husk remote": `
husk up --remote  have a worker do it
husk remote ls --open  runs that are queued, running, or waiting for approval
husk remote log -f RUN  follow a run
husk remote approve RUN  let it go on`,
	"husk remote ls": `
husk remote ls  the last runs
husk remote ls --open  runs that are queued, running, or waiting for approval
husk remote ls --project shop --of prod  the runs of one stack`,
	"husk remote log": `
husk remote log RUN  the log so far
husk remote log -f RUN  follow it until it ends`,
	"husk remote show": `
husk remote show RUN  the progress of a run`,
	"husk remote cancel": `
husk remote cancel RUN  let running steps finish; again to stop them`,
	"husk remote approve": `
husk remote approve RUN  let a waiting run go on`,
	"husk remote reject": `
husk remote reject RUN  end a waiting run`,
	"husk remote retry": `
husk remote retry RUN  have a run go on that needs attention`,
	"husk remote schedule": `
husk remote schedule set drift '0 4 * * *' refresh --preview-only  look for drift each night
husk remote schedule ls  list the schedules`,
	"husk remote schedule set": `
husk remote schedule set drift '0 4 * * *' refresh --preview-only  look for drift each night
husk remote schedule set heal '*/30 * * * *' up --label region=eu  every half hour, by some workers`,
	"husk remote schedule ls": `
husk remote schedule ls  with the time of the next run`,
	"husk remote schedule rm": `
husk remote schedule rm drift  end the schedule`,
	"husk remote token": `
husk remote token add carl request --project 'shop-*'  issue a token
husk remote token rm carl  revoke it`,
	"husk remote token add": `
husk remote token add carl request --project 'shop-*'  for some projects
husk remote token add ci preview --expires 2160h  for 90 days`,
	"husk remote token ls": `
husk remote token ls  names, roles, projects, issuers, and last uses`,
	"husk remote token rm": `
husk remote token rm carl  revoke it`,
	"husk remote audit": `
husk remote audit  the last entries
husk remote audit --json --limit 100000 > audit.json  export them`,
	"husk destroy": `
husk destroy --preview-only  show what would be deleted
husk destroy --target '**::web' --yes  delete only the resource with the name web
husk destroy --exclude-protected --yes  leave protected resources
husk destroy --remove --yes  delete everything, and the stack`,
	"husk import": `
husk import random:RandomPet name bold-cat  one existing object
husk import --file existing.json --yes  several
husk import --from tfstate FILE --yes  everything in a Terraform state`,
	"husk action":   "husk action flush  run the action flush of the program",
	"husk watch":    "husk watch  preview whenever a file changes\nhusk watch --up  update whenever a file changes",
	"husk validate": "husk validate  check the program\nhusk validate --json  the errors as JSON",
	"husk console": `
husk console  serve the page, and show its address
husk console --allow-writes  also preview, update, refresh, and destroy from the page
husk console --port 7780 --token-file console.token  for Prometheus, which reads /metrics`,
	"husk fmt":  "husk fmt  format the files of the project\nhusk fmt --check  list unformatted files, as in CI",
	"husk plan": "husk plan show plan.json  show what the plan would do",
	"husk plan show": `
husk preview --save-plan plan.json  save a plan
husk plan show plan.json  show what it would do`,
	"husk graph": "husk graph -o stack.svg  draw the stack\nhusk graph --preview -o plan.svg  draw the stack as the program would make it",
	"husk stack": `
husk stack  show the stack with its resources
husk stack init prod  create the stack prod
husk stack select dev  use dev from now on`,
	"husk stack migrate": `
husk stack migrate postgres://husk@db.example/stacks  move this stack
husk stack migrate 's3://team-state?region=eu-central-1' --all  move all stacks of the project`,
	"husk stack change-secrets-provider": `
husk stack change-secrets-provider passphrase  a passphrase, which is asked for
husk stack change-secrets-provider key --new-key  a new key file
husk stack change-secrets-provider hashivault://team  the key team of HashiCorp Vault`,
	"husk login": `
husk login postgres://husk@db.example/stacks  a database, with the password of ~/.pgpass
husk login 's3://team-state?region=eu-central-1'  a bucket
husk login file://~/stacks  a directory`,
	"husk logout":        "husk logout  use .husk beside the project file again",
	"husk whoami":        "husk whoami  show who you are, and where your stacks are",
	"husk stack init":    "husk stack init prod  create the stack prod and select it",
	"husk stack select":  "husk stack select prod  use prod from now on\nhusk stack select prod --create  create it if it does not exist",
	"husk stack ls":      "husk stack ls  list the stacks of the project",
	"husk stack rm":      "husk stack rm test  remove the stack test\nhusk stack rm test --force  forget its resources, after a question",
	"husk stack rename":  "husk stack rename production  rename the selected stack",
	"husk stack output":  "husk stack output  show all outputs\nhusk stack output url  the plain value of one\nhusk stack output --json --show-secrets  all, with secrets",
	"husk stack export":  "husk stack export > state.json  write the state, with secrets encrypted",
	"husk stack import":  "husk stack import --file state.json  replace the state by an export of Husk or Pulumi",
	"husk stack history": "husk stack history  list the changes\nhusk stack history --json  as JSON",
	"husk stack restore": "husk stack restore --list  list the saved states\nhusk stack restore --yes  restore the newest",
	"husk state": `
husk state ls  list the resources
husk state show web  show the one of that name
husk state protect 'web-*'  refuse to delete resources that match a pattern
husk state repair --yes  make a damaged state consistent`,
	"husk state ls":        "husk state ls  list the resources by URN",
	"husk state show":      "husk state show web  show a resource by its name\nhusk state show 'urn:pulumi:dev::shop::random:index/randomPet:RandomPet::name'  by its URN",
	"husk state delete":    "husk state delete 'urn:pulumi:dev::shop::random:index/randomPet:RandomPet::name'  forget it, without deleting it",
	"husk state rename":    "husk state rename 'urn:pulumi:dev::shop::random:index/randomPet:RandomPet::name' title  give it another name",
	"husk state move":      "husk state move 'urn:pulumi:dev::shop::random:index/randomPet:RandomPet::name' --to prod  move it to the stack prod",
	"husk state protect":   "husk state protect 'urn:pulumi:dev::shop::random:index/randomPet:RandomPet::name'  refuse to delete it\nhusk state protect --all  refuse to delete anything",
	"husk state unprotect": "husk state unprotect --all  allow everything to be deleted",
	"husk state taint":     "husk state taint 'urn:pulumi:dev::shop::random:index/randomPet:RandomPet::name'  replace it by the next update",
	"husk state untaint":   "husk state untaint --all  unmark all",
	"husk state module":    "husk state module  show the modules that serve the resources",
	"husk state repair":    "husk state repair  show the faults, ask, and repair them",
	"husk state edit":      "husk state edit  edit the state with $EDITOR",
	"husk cancel":          "husk cancel  release the lock of a run that is gone",
	"husk config": `
husk config  list the configuration
husk config set aws:region eu-west-1  set a value
husk config set --secret password  ask for a secret`,
	"husk config set":     "husk config set size 3  set a value\nhusk config set --secret password  ask for a secret, and encrypt it\nhusk config set --path aws:tags.owner me  set an element of an object",
	"husk config set-all": "husk config set-all --plaintext size=3 --secret token=hunter2  set two values",
	"husk config get":     "husk config get size  show the value, decrypted",
	"husk config rm":      "husk config rm size  remove the key",
	"husk config rm-all":  "husk config rm-all size label  remove both keys, or none",
	"husk install": `
husk install  fetch the providers of the project, and write husk.lock
husk install --locked  fetch the providers in husk.lock, and refuse to change it, as in CI`,
	"husk update":           "husk update  look for newer versions of all providers\nhusk update random  of one",
	"husk vendor":           "husk vendor modules  put the modules of the project into the directory modules\nHUSK_VENDOR_DIR=modules HUSK_OFFLINE=1 husk up  use them without a network",
	"husk provider push":    "husk provider push random.wasm ghcr.io/acme/random  publish a module under its version\nhusk provider push . ghcr.io/acme/random  build and publish the provider in this directory",
	"husk provider pull":    "husk provider pull ghcr.io/acme/random:1.2.0  fetch a version into random.wasm\nhusk provider pull ghcr.io/acme/random --version ^1 -o random.wasm  the newest of a range",
	"husk package gen-sdk":  "husk package gen-sdk random --language go -o sdk/go  an SDK of the package random of the project",
	"husk provider search":  "husk provider search random  providers with random in the name, in the configured registries",
	"husk provider publish": "husk provider publish . ghcr.io/acme/random --key acme.key  check, publish, and sign the source in this directory\nhusk provider publish . ghcr.io/acme/random --dry-run  only check it",
	"husk provider changes": "husk provider changes ghcr.io/acme/random .  the changes since the newest version",
	"husk provider keygen":  "husk provider keygen acme.key  write acme.key and acme.key.pub",
	"husk provider sign":    "husk provider sign ghcr.io/acme/random:1.2.0 --key acme.key  sign a version in a registry\nhusk provider sign random.wasm --key acme.key  write random.wasm.sigstore.json",
	"husk provider verify":  "husk provider verify ghcr.io/acme/random:1.2.0 --key acme.key.pub  verify that this key has signed it\nhusk provider verify random.wasm  verify it by the trust policy of the project",
	"husk provider tag":     "husk provider tag ghcr.io/acme/random:1.2.0 latest  give a version the tag latest",
	"husk provider":         "husk provider build . -o random.wasm  build a module\nhusk provider test random.wasm  test it against the contract\nhusk provider audit  compare the requests of the project's providers with their grants",
	"husk provider build":   "husk provider build . -o random.wasm  build the provider in this directory",
	"husk provider port":    "husk provider port github.com/hashicorp/terraform-provider-time@v0.14.2  build a provider for Terraform as a module",
	"husk provider compile": "husk provider compile -o compiled  compile all modules of the project\nhusk provider compile random.wasm -o compiled  compile one",
	"husk provider inspect": "husk provider inspect random.wasm  show what the module contains and can ask of the host",
	"husk provider show":    "husk provider show random  what a provider of the project offers\nhusk provider show random RandomPet  a type with its properties and an example",
	"husk provider docs":    "husk provider docs random -o random.html  a page\nhusk provider docs random.wasm  Markdown, of a module",
	"husk provider schema":  "husk provider schema random  the schema of a provider of the project\nhusk provider schema random.wasm  the schema of a module",
	"husk provider list":    "husk provider list random.wasm random:RandomPet  list existing objects with their IDs",
	"husk provider mapping": "husk provider mapping random terraform  show how names of Terraform map to the provider's",
	"husk provider call":    "husk provider call random.wasm check request.json  call a method of the contract",
	"husk provider invoke":  "husk provider invoke random.wasm random:getNumber '{\"max\": 6}'  call a function",
	"husk provider dev":     "husk provider dev .  preview ./example after each change\nhusk provider dev . -C ../shop  preview another project",
	"husk provider test":    "husk provider test random.wasm  test whether it keeps to the contract\nhusk provider test . --seed 7  the same cases again, from source",
	"husk provider audit":   "husk provider audit  all providers of the project\nhusk provider audit random  one of them",
	"husk provider serve":   "husk provider serve random.wasm --port 41234  serve a module at this port\nhusk provider serve random  serve a provider of the project, with its grants",
	"husk provider shim":    "husk provider shim random.wasm -o plugins  make a plugin\nhusk provider shim cloud.wasm -o plugins --grant http=https://api.example.org  one that may reach a service",
	"husk package":          "husk package add openapi petstore.json  add the package that the provider makes from a document",
	"husk package add":      "husk package add openapi petstore.json  add the package that the provider makes from a document",
	"husk package schema":   "husk package schema petstore  show the schema of a package",
	"husk cache":            "husk cache ls  list the compiled modules\nhusk cache prune --all  remove all of them",
	"husk cache ls":         "husk cache ls  list the compiled modules with their last use",
	"husk cache prune":      "husk cache prune  remove what has not been used for long\nhusk cache prune --all  remove everything",
	"husk lsp":              "husk lsp  what an editor runs",
	"husk schema":           "husk schema project  of the project file",
	"husk schema project":   "husk schema project  of the project file, with the types of the project\nhusk schema project --packages=false  without loading a provider",
	"husk doctor":           "husk doctor  check this machine and the project\nhusk doctor --json  the findings as JSON",
	"husk version":          "husk version  show the version\nhusk version --json  as JSON",
	"husk man":              "husk man man/man1  write the man pages to a directory",
}

// examplesOf returns the examples of a command, in two columns.
func examplesOf(cmd *cobra.Command) string {
	var lines [][2]string
	width := 0
	for line := range strings.SplitSeq(strings.TrimSpace(examples[cmd.CommandPath()]), "\n") {
		if command, does, ok := strings.Cut(line, "  "); ok {
			lines = append(lines, [2]string{command, does})
			width = max(width, len(command))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		if width > mostExample { // what it does stands above
			b.WriteString("  # " + line[1] + "\n  " + line[0] + "\n")
		} else {
			b.WriteString("  " + line[0] + strings.Repeat(" ", width-len(line[0])) + "  # " + line[1] + "\n")
		}
	}
	return b.String()
}

// mostExample is the width of a command line that what it does can stand beside, on 80 columns.
const mostExample = 44
