package provider

import (
	"context"
	"html"

	"github.com/husk-dev/husk/guest-sdk/deploy"
	"github.com/husk-dev/husk/guest-sdk/guest"
)

// SiteInputs are the inputs of a site.
type SiteInputs struct {
	Directory deploy.Out[string] `husk:"directory" doc:"Where the site is to be."`
	Host      deploy.Out[string] `husk:"host" doc:"The host name under which it will be served."`
	Title     deploy.Out[string] `husk:"title" doc:"What its page says."`
	Robots    bool               `husk:"robots,default=true" doc:"Whether search engines are welcome."`
}

// SiteOutputs are the outputs of a site.
type SiteOutputs struct {
	URL         deploy.Out[string]   `husk:"url" doc:"Where the site will be found."`
	Directory   deploy.Out[string]   `husk:"directory" doc:"Where the site is."`
	Files       []deploy.Out[string] `husk:"files" doc:"The paths of its files."`
	Certificate deploy.Out[string]   `husk:"certificate" doc:"The certificate, in PEM form."`
}

// Site is a directory with a page, a certificate, and its key.
type Site struct{}

// Construct declares the directory and its files. The certificate is a component of this package.
func (Site) Construct(_ context.Context, r guest.ConstructRequest[SiteInputs], d *deploy.Deployment) (SiteOutputs, error) {
	directory := d.Resource(deploy.Declaration{
		Type: "local:index/directory:Directory", Name: r.Name + "-directory",
		Inputs: deploy.Props{"path": r.Inputs.Directory},
	})
	path := deploy.Field[string](directory, "path")
	certificate := d.Component(deploy.Declaration{
		Type: "site:index:Certificate", Name: r.Name + "-certificate",
		Inputs: deploy.Props{"host": r.Inputs.Host},
	})

	outputs := SiteOutputs{
		URL:         deploy.Concat("https://", r.Inputs.Host, "/"),
		Directory:   path,
		Certificate: deploy.Field[string](certificate, "certificate"),
	}
	file := func(name, permission string, content deploy.Source) {
		made := d.Resource(deploy.Declaration{
			Type: "local:index/file:File", Name: r.Name + "-" + name,
			Inputs: deploy.Props{
				"path":           deploy.Concat(path, "/", name),
				"content":        content,
				"filePermission": permission,
			},
		})
		outputs.Files = append(outputs.Files, deploy.Field[string](made, "path"))
	}
	file("index.html", "0644", deploy.Apply(r.Inputs.Title, func(title string) (string, error) {
		title = html.EscapeString(title)
		return "<!doctype html>\n<title>" + title + "</title>\n<h1>" + title + "</h1>\n", nil
	}))
	file("cert.pem", "0644", deploy.Field[string](certificate, "certificate"))
	file("key.pem", "0600", deploy.Field[string](certificate, "key"))
	if !r.Inputs.Robots {
		file("robots.txt", "0644", deploy.Known("User-agent: *\nDisallow: /\n"))
	}
	return outputs, nil
}

// ReadArgs are the arguments of a site's method read.
type ReadArgs struct {
	File deploy.Out[string] `husk:"file" doc:"The path of one of the site's files."`
}

// ReadResult is the result of a site's method read.
type ReadResult struct {
	Content deploy.Out[string] `husk:"content" doc:"What is in the file."`
}

func read(_ context.Context, r guest.MethodRequest[ReadArgs], d *deploy.Deployment) (ReadResult, error) {
	file := d.Invoke("local:index/getFile:getFile", deploy.Props{"path": r.Args.File}, deploy.Options{})
	return ReadResult{Content: deploy.Field[string](file, "content")}, nil
}
