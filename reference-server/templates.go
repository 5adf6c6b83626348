package refserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var (
	languages = []string{"de", "el", "en", "eo", "es", "fr"}
	greetings = []string{"Guten Tag", "Kalimera", "Hello", "Saluton", "Buenos días", "Bonjour"}
	items     = itemNumbers()
)

// templates are the resource templates. The variable of the first one has more values than one
// completion result may contain.
var templates = []*template{
	{
		uri: "demo://items/{number}", name: "item", title: "An item by number", mime: "text/plain", priority: 0.25,
		values: map[string][]string{"number": items},
		read: func(v map[string]string) (string, bool) {
			return "Item " + v["number"] + ".", slices.Contains(items, v["number"])
		},
	},
	{
		uri: "demo://greetings/{language}/{name}", name: "greeting", title: "A greeting in a language", mime: "text/plain",
		values:       map[string][]string{"language": languages, "name": {"Ada", "Alan", "Amélie", "Grace", "Günther"}},
		isCompatible: isNameCompatible,
		read: func(v map[string]string) (string, bool) {
			i := slices.Index(languages, v["language"])
			if i < 0 {
				return "", false
			}
			return fmt.Sprintf("%s, %s!", greetings[i], v["name"]), true
		},
	},
	{
		uri: "demo://shout/{text}", name: "shout", title: "A text in capitals", mime: "text/plain",
		read: func(v map[string]string) (string, bool) { return strings.ToUpper(v["text"]), true },
	},
	{
		uri: "demo://squares/{number}", name: "square", title: "The square of a small number", mime: "text/plain",
		read: func(v map[string]string) (string, bool) {
			n, err := strconv.Atoi(v["number"])
			return strconv.Itoa(n * n), err == nil && n >= 0 && n <= 1000
		},
	},
}

// isNameCompatible reports whether a name is compatible with the filled-in language, if there is
// one. Amélie and Günther are each limited to one language; every other name is compatible with all
// languages. Every value of a variable other than name is compatible.
func isNameCompatible(variable, name string, filled map[string]string) bool {
	language, known := filled["language"]
	home := map[string]string{"Amélie": "fr", "Günther": "de"}[name]
	return variable != "name" || !known || home == "" || home == language
}

func itemNumbers() []string {
	out := make([]string, 250)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}
