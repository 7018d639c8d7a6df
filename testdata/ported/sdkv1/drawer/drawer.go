// Package drawer is a provider whose resources exist in the memory of its process.
package drawer

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-sdk/helper/resource"
	"github.com/hashicorp/terraform-plugin-sdk/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/helper/validation"
	"github.com/hashicorp/terraform-plugin-sdk/terraform"
)

// furniture is the service that the provider manages: names of boxes by their IDs.
type furniture struct {
	mu     sync.Mutex
	boxes  map[string]string
	prefix string
}

func (f *furniture) get(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.boxes[id]
}

func (f *furniture) set(id, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == "" {
		delete(f.boxes, id)
		return
	}
	f.boxes[id] = name
}

// New returns the provider.
func New() terraform.ResourceProvider {
	return &schema.Provider{
		Schema: map[string]*schema.Schema{
			"prefix": {Type: schema.TypeString, Optional: true, DefaultFunc: schema.EnvDefaultFunc("DRAWER_PREFIX", "box")},
		},
		ResourcesMap:   map[string]*schema.Resource{"drawer_box": box()},
		DataSourcesMap: map[string]*schema.Resource{"drawer_size": size()},
		ConfigureFunc: func(d *schema.ResourceData) (interface{}, error) {
			prefix := d.Get("prefix").(string)
			if prefix == "-" {
				return nil, errors.New("the prefix is none")
			}
			return &furniture{boxes: map[string]string{}, prefix: prefix}, nil
		},
	}
}

func box() *schema.Resource {
	return &schema.Resource{
		SchemaVersion: 1,
		Importer:      &schema.ResourceImporter{State: schema.ImportStatePassthrough},
		Schema: map[string]*schema.Schema{
			"name":  {Type: schema.TypeString, Required: true, ForceNew: true},
			"color": {Type: schema.TypeString, Optional: true, Default: "white", ValidateFunc: validation.StringInSlice([]string{"white", "red"}, false)},
			"width": {Type: schema.TypeInt, Optional: true, Computed: true},
			"pin":   {Type: schema.TypeString, Optional: true, Sensitive: true},
			"torn":  {Type: schema.TypeBool, Optional: true},
			"part": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"label": {Type: schema.TypeString, Required: true},
			}}},
			"lid": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"metal": {Type: schema.TypeString, Optional: true, Default: "steel"},
			}}},
		},
		Create: create,
		Read:   read,
		Update: func(d *schema.ResourceData, of interface{}) error { return read(d, of) },
		Delete: func(d *schema.ResourceData, of interface{}) error { of.(*furniture).set(d.Id(), ""); return nil },
		StateUpgraders: []schema.StateUpgrader{{
			Version: 0,
			Type:    (&schema.Resource{Schema: map[string]*schema.Schema{"title": {Type: schema.TypeString, Required: true}}}).CoreConfigSchema().ImpliedType(),
			Upgrade: func(state map[string]interface{}, _ interface{}) (map[string]interface{}, error) {
				state["name"] = state["title"]
				delete(state, "title")
				return state, nil
			},
		}},
	}
}

func create(d *schema.ResourceData, of interface{}) error {
	name := d.Get("name").(string)
	f := of.(*furniture)
	d.SetId(f.prefix + "-" + name)
	f.set(d.Id(), name)
	tries := 0
	err := resource.Retry(time.Minute, func() *resource.RetryError {
		if tries++; tries < 2 {
			return resource.RetryableError(errors.New("the drawer is stuck"))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if d.Get("torn").(bool) {
		return fmt.Errorf("the box %s is torn", name)
	}
	return read(d, of)
}

func read(d *schema.ResourceData, of interface{}) error {
	name := of.(*furniture).get(d.Id())
	if name == "" {
		d.SetId("")
		return nil
	}
	if d.Get("width").(int) == 0 {
		if err := d.Set("width", 40); err != nil {
			return err
		}
	}
	return d.Set("name", name)
}

func size() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{
			"width":  {Type: schema.TypeInt, Required: true},
			"inches": {Type: schema.TypeFloat, Computed: true},
		},
		Read: func(d *schema.ResourceData, _ interface{}) error {
			d.SetId("size")
			return d.Set("inches", float64(d.Get("width").(int))/2.5)
		},
	}
}
