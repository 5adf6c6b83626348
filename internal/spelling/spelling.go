// Package spelling finds the name that the user probably meant with a misspelt one.
package spelling

import "strings"

// Nearest returns the element of names with the smallest edit distance from name, ignoring case. It
// returns "" if all distances are greater than 2 and greater than a third of the length of name.
func Nearest(name string, names []string) string {
	best, least := "", max(2, len([]rune(name))/3)+1
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance returns the Levenshtein distance of two words.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, c := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, d := range to {
			cost := diagonal
			if c != d {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
