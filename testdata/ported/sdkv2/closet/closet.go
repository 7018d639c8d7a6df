// Package closet is a provider whose resources exist in the memory of its process.
package closet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/validation"
)

// world is the service that the provider manages: racks by their IDs.
type world struct {
	mu    sync.Mutex
	racks map[string]string
}

func (w *world) set(id, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name == "" {
		delete(w.racks, id)
		return
	}
	w.racks[id] = name
}

func (w *world) get(id string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.racks[id]
}

var shared = &world{racks: map[string]string{}}

// New returns the provider. All providers of a process manage the same racks.
func New() *schema.Provider {
	return &schema.Provider{
		Schema: map[string]*schema.Schema{
			"endpoint": {Type: schema.TypeString, Required: true, DefaultFunc: schema.EnvDefaultFunc("CLOSET_ENDPOINT", nil), Description: "Where the closet is."},
			"token":    {Type: schema.TypeString, Optional: true, Sensitive: true},
		},
		ResourcesMap:   map[string]*schema.Resource{"closet_rack": rack()},
		DataSourcesMap: map[string]*schema.Resource{"closet_rack": source()},
		ConfigureContextFunc: func(_ context.Context, d *schema.ResourceData) (any, diag.Diagnostics) {
			if strings.HasPrefix(d.Get("endpoint").(string), "ftp:") {
				return nil, diag.Errorf("no closet at %s", d.Get("endpoint"))
			}
			return shared, nil
		},
	}
}

func rack() *schema.Resource {
	return &schema.Resource{
		Description:   "A rack.",
		SchemaVersion: 1,
		Timeouts:      &schema.ResourceTimeout{Create: schema.DefaultTimeout(10 * time.Minute), Delete: schema.DefaultTimeout(5 * time.Minute)},
		Importer:      &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Schema: map[string]*schema.Schema{
			"name":     {Type: schema.TypeString, Required: true, ForceNew: true},
			"color":    {Type: schema.TypeString, Optional: true, Default: "white", ValidateFunc: validation.StringNotInSlice([]string{"plaid"}, false)},
			"width":    {Type: schema.TypeInt, Optional: true, Computed: true},
			"open":     {Type: schema.TypeBool, Optional: true},
			"load":     {Type: schema.TypeFloat, Optional: true},
			"password": {Type: schema.TypeString, Optional: true, Sensitive: true},
			"tags":     {Type: schema.TypeMap, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"note":     {Type: schema.TypeList, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"owner":    {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"code":     {Type: schema.TypeString, Computed: true},
			"made_in":  {Type: schema.TypeString, Computed: true},
			"fail":     {Type: schema.TypeString, Optional: true},
			"rail": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"length": {Type: schema.TypeInt, Required: true},
				"metal":  {Type: schema.TypeString, Optional: true, Default: "steel", ForceNew: true},
			}}},
			"hook": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"side":   {Type: schema.TypeString, Required: true},
				"serial": {Type: schema.TypeString, Computed: true},
			}}},
			"shelf": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"height": {Type: schema.TypeInt, Required: true},
				"label":  {Type: schema.TypeString, Optional: true},
			}}},
		},
		CreateContext: create,
		ReadContext:   read,
		UpdateContext: update,
		DeleteContext: remove,
		StateUpgraders: []schema.StateUpgrader{{
			Version: 0,
			Type:    (&schema.Resource{Schema: map[string]*schema.Schema{"title": {Type: schema.TypeString, Required: true}}}).CoreConfigSchema().ImpliedType(),
			Upgrade: func(_ context.Context, state map[string]any, _ any) (map[string]any, error) {
				state["name"] = state["title"]
				delete(state, "title")
				return state, nil
			},
		}},
	}
}

func create(_ context.Context, d *schema.ResourceData, of any) diag.Diagnostics {
	if d.Get("fail") == "create" {
		return diag.Errorf("there is no room for the rack")
	}
	name := d.Get("name").(string)
	d.SetId("rack-" + name)
	of.(*world).set(d.Id(), name)
	if err := fill(d); err != nil {
		return diag.FromErr(err)
	}
	if err := d.Set("made_in", d.Timeout(schema.TimeoutCreate).String()); err != nil {
		return diag.FromErr(err)
	}
	if d.Get("fail") == "half" {
		return diag.Errorf("the rack is crooked")
	}
	return diag.Diagnostics{{Severity: diag.Warning, Summary: "The rack is new", Detail: "Let it dry."}}
}

// fill computes what the service computes.
func fill(d *schema.ResourceData) error {
	if d.Get("width").(int) == 0 {
		if err := d.Set("width", 80); err != nil {
			return err
		}
	}
	hooks := d.Get("hook").([]any)
	for i := range hooks {
		hook := hooks[i].(map[string]any)
		hook["serial"] = fmt.Sprintf("hook-%d-%s", i, hook["side"])
	}
	if err := d.Set("hook", hooks); err != nil {
		return err
	}
	return d.Set("code", "code-"+d.Get("name").(string))
}

func read(_ context.Context, d *schema.ResourceData, of any) diag.Diagnostics {
	name := of.(*world).get(d.Id())
	if name == "" {
		d.SetId("")
		return nil
	}
	if err := d.Set("name", name); err != nil {
		return diag.FromErr(err)
	}
	if d.Get("color") == "" {
		if err := d.Set("color", "white"); err != nil {
			return diag.FromErr(err)
		}
	}
	return diag.FromErr(fill(d))
}

func update(_ context.Context, d *schema.ResourceData, of any) diag.Diagnostics {
	if d.Get("fail") == "move" {
		d.SetId("moved-" + d.Get("name").(string))
		of.(*world).set(d.Id(), d.Get("name").(string))
	}
	if d.Get("fail") == "update" {
		d.Partial(true)
		return diag.Errorf("the rack does not change")
	}
	return diag.FromErr(fill(d))
}

func remove(_ context.Context, d *schema.ResourceData, of any) diag.Diagnostics {
	of.(*world).set(d.Id(), "")
	return diag.Diagnostics{{Severity: diag.Warning, Summary: "Within " + d.Timeout(schema.TimeoutDelete).String()}}
}

func source() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{
			"name":   {Type: schema.TypeString, Required: true},
			"exists": {Type: schema.TypeBool, Computed: true},
			"filter": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"color": {Type: schema.TypeString, Optional: true},
			}}},
		},
		ReadContext: func(_ context.Context, d *schema.ResourceData, of any) diag.Diagnostics {
			name := d.Get("name").(string)
			d.SetId("rack-" + name)
			return diag.FromErr(d.Set("exists", of.(*world).get(d.Id()) != ""))
		},
	}
}
