package spec

import "fmt"

// CrashCWE is the number of the weakness of a server that crashes because of one message.
const CrashCWE = 248

// weaknesses holds the names of the weaknesses that the catalogue refers to, as
// https://cwe.mitre.org has them; long ones are shortened to their usual names.
var weaknesses = map[int]string{
	22:       "Path Traversal",
	201:      "Insertion of Sensitive Information Into Sent Data",
	CrashCWE: "Uncaught Exception",
	287:      "Improper Authentication",
	306:      "Missing Authentication for Critical Function",
	319:      "Cleartext Transmission of Sensitive Information",
	340:      "Generation of Predictable Numbers or Identifiers",
	345:      "Insufficient Verification of Data Authenticity",
	346:      "Origin Validation Error",
	347:      "Improper Verification of Cryptographic Signature",
	352:      "Cross-Site Request Forgery",
	384:      "Session Fixation",
	436:      "Interpretation Conflict",
	441:      "Unintended Proxy or Intermediary ('Confused Deputy')",
	488:      "Exposure of Data Element to Wrong Session",
	522:      "Insufficiently Protected Credentials",
	524:      "Use of Cache Containing Sensitive Information",
	532:      "Insertion of Sensitive Information into Log File",
	598:      "Use of GET Request Method With Sensitive Query Strings",
	601:      "Open Redirect",
	613:      "Insufficient Session Expiration",
	639:      "Authorization Bypass Through User-Controlled Key",
	862:      "Missing Authorization",
	863:      "Incorrect Authorization",
	1327:     "Binding to an Unrestricted IP Address",
}

// IsSecurity reports whether a deviation from the requirement is about security: either the
// deviation shows a weakness, or the requirement is in the area of security. cwe is the number of
// the weakness, 0 for none.
func IsSecurity(requirement string, cwe int) bool {
	return cwe > 0 || AreaOf(requirement) == AreaSecurity
}

// WeaknessName returns the number of a weakness with its name, such as "CWE-346 Origin Validation
// Error", or only the number if weaknesses has no name for it.
func WeaknessName(cwe int) string {
	text := fmt.Sprintf("CWE-%d", cwe)
	if name := weaknesses[cwe]; name != "" {
		text += " " + name
	}
	return text
}

// WeaknessPage returns the address of the page about a weakness.
func WeaknessPage(cwe int) string {
	return fmt.Sprintf("https://cwe.mitre.org/data/definitions/%d.html", cwe)
}
