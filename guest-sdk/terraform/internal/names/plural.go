package names

import "strings"

// Plural returns the plural of a name in lower case, whose last word is an English noun. It agrees
// with the inflector of Pulumi's bridge.
func Plural(name string) string {
	if plural, ok := irregular[name]; ok {
		return plural
	}
	if uninflected[name] || anyOf(name, "nese", "rese", "lese", "mese", "deer", "fish", "measles", "ois", "pox", "sheep", "media") {
		return name
	}
	for _, rule := range endings {
		if stem, ok := strings.CutSuffix(name, rule.singular); ok && rule.fits(stem) {
			return stem + rule.plural
		}
	}
	return name + "s"
}

// Singular returns the singular of a name, or the name itself if it is not a plural.
func Singular(name string) string {
	if uninflected[name] || anyOf(name, "ss", "us", "is") {
		return name
	}
	for _, rule := range pluralEndings {
		if stem, ok := strings.CutSuffix(name, rule[0]); ok {
			return stem + rule[1]
		}
	}
	return name
}

// pluralEndings are endings of plurals with the endings of their singulars. The first one that fits counts.
var pluralEndings = [][2]string{
	{"statuses", "status"}, {"aliases", "alias"}, {"buses", "bus"}, {"analyses", "analysis"}, {"axes", "axis"}, {"indices", "index"},
	{"matrices", "matrix"}, {"vertices", "vertex"}, {"children", "child"}, {"people", "person"}, {"feet", "foot"}, {"teeth", "tooth"},
	{"movies", "movie"}, {"cookies", "cookie"}, {"series", "series"}, {"ies", "y"}, {"xes", "x"}, {"ches", "ch"}, {"sses", "ss"},
	{"shes", "sh"}, {"lves", "lf"}, {"s", ""},
}

// ending is a rule for names that end in a text. The first one that fits counts.
type ending struct {
	singular, plural string
	// before and notBefore are the letters that may, or may not, be before it; empty for any.
	before, notBefore string
}

func (e ending) fits(stem string) bool {
	if e.before == "" && e.notBefore == "" {
		return true
	}
	if stem == "" {
		return false
	}
	last := stem[len(stem)-1:]
	return (e.before == "" || strings.Contains(e.before, last)) && (e.notBefore == "" || !strings.Contains(e.notBefore, last))
}

var endings = []ending{
	{singular: "status", plural: "statuses"},
	{singular: "quiz", plural: "quizzes"},
	{singular: "mouse", plural: "mice"}, {singular: "louse", plural: "lice"},
	{singular: "matrix", plural: "matrices"}, {singular: "matrex", plural: "matrices"},
	{singular: "vertex", plural: "vertices"}, {singular: "vertix", plural: "vertices"},
	{singular: "index", plural: "indices"}, {singular: "indix", plural: "indices"},
	{singular: "x", plural: "xes"}, {singular: "ch", plural: "ches"}, {singular: "ss", plural: "sses"}, {singular: "sh", plural: "shes"},
	{singular: "quy", plural: "quies"},
	{singular: "y", plural: "ies", notBefore: "aeiouy"},
	{singular: "hive", plural: "hives"},
	{singular: "fe", plural: "ves", notBefore: "f"},
	{singular: "f", plural: "ves", before: "lre"},
	{singular: "sis", plural: "ses"},
	{singular: "um", plural: "a", before: "ti"},
	{singular: "person", plural: "people"},
	{singular: "man", plural: "men"},
	{singular: "child", plural: "children"},
	{singular: "buffalo", plural: "buffaloes"}, {singular: "tomato", plural: "tomatoes"},
	{singular: "alumnus", plural: "alumni"}, {singular: "bacillus", plural: "bacilli"}, {singular: "cactus", plural: "cacti"},
	{singular: "focus", plural: "foci"}, {singular: "fungus", plural: "fungi"}, {singular: "nucleus", plural: "nuclei"},
	{singular: "radius", plural: "radii"}, {singular: "stimulus", plural: "stimuli"}, {singular: "syllabus", plural: "syllabi"},
	{singular: "terminus", plural: "termini"}, {singular: "virus", plural: "viri"},
	{singular: "us", plural: "uses"},
	{singular: "alias", plural: "aliases"},
	{singular: "axis", plural: "axes"}, {singular: "crisis", plural: "crises"}, {singular: "testis", plural: "testes"},
	{singular: "s", plural: "s"},
}

// irregular are whole names.
var irregular = map[string]string{
	"atlas": "atlases", "beef": "beefs", "brother": "brothers", "cafe": "cafes", "child": "children", "cookie": "cookies",
	"corpus": "corpuses", "cow": "cows", "ganglion": "ganglions", "genie": "genies", "genus": "genera", "graffito": "graffiti",
	"hoof": "hoofs", "loaf": "loaves", "man": "men", "money": "monies", "mongoose": "mongooses", "move": "moves",
	"mythos": "mythoi", "niche": "niches", "numen": "numina", "occiput": "occiputs", "octopus": "octopuses", "opus": "opuses",
	"ox": "oxen", "person": "people", "sex": "sexes", "soliloquy": "soliloquies", "testis": "testes", "trilby": "trilbys",
	"turf": "turfs", "potato": "potatoes", "hero": "heroes", "tooth": "teeth", "goose": "geese", "foot": "feet",
}

// uninflected are whole names that are their own plural.
var uninflected = set(`bison bream breeches britches buffalo cantus carp chassis clippers cod contretemps corps debris diabetes
	djinn eland elk equipment flounder gallows graffiti headquarters herpes hijinks information innings jackanapes mackerel mews
	moose mumps news nexus pincers pliers proceedings rabies rice rhinoceros salmon scissors series shears siemens species swine
	testes trousers trout tuna whiting wildebeest people`)

func set(words string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(words) {
		all[word] = true
	}
	return all
}

func anyOf(name string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}
