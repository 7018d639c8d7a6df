package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/terraform-plugin-log/tfsdklog"

	"github.com/husk-dev/husk/guest-sdk/guest"
)

// withLogger returns a context in which tflog writes to the log of the call.
func withLogger(ctx context.Context) context.Context {
	return tfsdklog.NewRootProviderLogger(ctx, tfsdklog.WithLevel(hclog.Debug), tfsdklog.WithoutLocation(),
		writingTo(tfsdklog.WithStderrFromInit(), &lines{log: guest.Log(ctx)}))
}

// writingTo returns an option of loggers that write to w. The type of the options is internal to
// terraform-plugin-log, which has options for standard error only.
func writingTo[O any, F ~func(O) O](like F, w io.Writer) F {
	return func(options O) O {
		options = like(options)
		reflect.ValueOf(&options).Elem().FieldByName("Output").Set(reflect.ValueOf(w))
		return options
	}
}

// ForwardLog makes package log write to the log of the host, where debug output shows it: providers on the
// plugin SDK write there what Terraform shows if it is asked to.
func ForwardLog() {
	log.SetFlags(0)
	log.SetOutput(debugLines{})
}

type debugLines struct{}

func (debugLines) Write(data []byte) (int, error) {
	if text := bytes.TrimPrefix(bytes.TrimSpace(data), []byte("[DEBUG] ")); !bytes.HasPrefix(text, []byte("[TRACE]")) {
		guest.Log(context.Background()).Debug(string(text))
	}
	return len(data), nil
}

// lines writes the lines of a logger, one JSON object each.
type lines struct{ log guest.Logger }

func (l *lines) Write(data []byte) (int, error) {
	for line := range bytes.Lines(data) {
		l.line(bytes.TrimSpace(line))
	}
	return len(data), nil
}

func (l *lines) line(line []byte) {
	var fields map[string]any
	if json.Unmarshal(line, &fields) != nil {
		l.log.Debug(string(line))
		return
	}
	message, _ := fields["@message"].(string)
	level, _ := fields["@level"].(string)
	var b strings.Builder
	b.WriteString(message)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if strings.HasPrefix(key, "@") || strings.HasPrefix(key, "tf_") {
			continue
		}
		text, _ := json.Marshal(fields[key])
		b.WriteString(" " + key + "=" + string(text))
	}
	switch level {
	case "error":
		l.log.Error(b.String())
	case "warn":
		l.log.Warning(b.String())
	case "info":
		l.log.Info(b.String())
	default:
		l.log.Debug(b.String())
	}
}
