package provider

import (
	"context"
	"html"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// SiteInputs are the inputs of a site.
type SiteInputs struct {
	Directory guest.Out[string] `husk:"directory" doc:"Where the site is to be."`
	Host      guest.Out[string] `husk:"host" doc:"The host name under which it will be served."`
	Title     guest.Out[string] `husk:"title" doc:"What its page says."`
	Robots    bool              `husk:"robots,default=true" doc:"Whether search engines are welcome."`
}

// SiteOutputs are the outputs of a site.
type SiteOutputs struct {
	URL         guest.Out[string]   `husk:"url" doc:"Where the site will be found."`
	Directory   guest.Out[string]   `husk:"directory" doc:"Where the site is."`
	Files       []guest.Out[string] `husk:"files" doc:"The paths of its files."`
	Certificate guest.Out[string]   `husk:"certificate" doc:"The certificate, in PEM form."`
}

// Site is a directory with a page, a certificate, and its key.
type Site struct{}

// Construct declares the directory and its files. The certificate is a component of this package.
func (Site) Construct(_ context.Context, r guest.ConstructRequest[SiteInputs], d *guest.Deployment) (SiteOutputs, error) {
	directory := d.Resource(guest.Declaration{
		Type: "local:index/directory:Directory", Name: r.Name + "-directory",
		Inputs: guest.Props{"path": r.Inputs.Directory},
	})
	path := guest.Field[string](directory, "path")
	certificate := d.Component(guest.Declaration{
		Type: "site:index:Certificate", Name: r.Name + "-certificate",
		Inputs: guest.Props{"host": r.Inputs.Host},
	})

	outputs := SiteOutputs{
		URL:         guest.Concat("https://", r.Inputs.Host, "/"),
		Directory:   path,
		Certificate: guest.Field[string](certificate, "certificate"),
	}
	file := func(name, permission string, content guest.Source) {
		made := d.Resource(guest.Declaration{
			Type: "local:index/file:File", Name: r.Name + "-" + name,
			Inputs: guest.Props{
				"path":           guest.Concat(path, "/", name),
				"content":        content,
				"filePermission": permission,
			},
		})
		outputs.Files = append(outputs.Files, guest.Field[string](made, "path"))
	}
	file("index.html", "0644", guest.Apply(r.Inputs.Title, func(title string) (string, error) {
		title = html.EscapeString(title)
		return "<!doctype html>\n<title>" + title + "</title>\n<h1>" + title + "</h1>\n", nil
	}))
	file("cert.pem", "0644", guest.Field[string](certificate, "certificate"))
	file("key.pem", "0600", guest.Field[string](certificate, "key"))
	if !r.Inputs.Robots {
		file("robots.txt", "0644", guest.Known("User-agent: *\nDisallow: /\n"))
	}
	return outputs, nil
}

// ReadArgs are the arguments of a site's method read.
type ReadArgs struct {
	File guest.Out[string] `husk:"file" doc:"The path of one of the site's files."`
}

// ReadResult is the result of a site's method read.
type ReadResult struct {
	Content guest.Out[string] `husk:"content" doc:"What is in the file."`
}

func read(_ context.Context, r guest.MethodRequest[ReadArgs], d *guest.Deployment) (ReadResult, error) {
	file := d.Invoke("local:index/getFile:getFile", guest.Props{"path": r.Args.File}, guest.Options{})
	return ReadResult{Content: guest.Field[string](file, "content")}, nil
}
