package discount

// Requests returns the discounts of JSON-RPC requests.
func Requests() []Discount { return discountsOf(requestRows) }

// Exchanges returns the discounts of HTTP requests.
func Exchanges() []Discount { return discountsOf(exchangeRows) }

// OfRuns returns the discounts of a run.
func OfRuns() []Discount {
	var out []Discount
	for _, r := range NewRun().discounts {
		out = append(out, r.Discount)
	}
	return out
}

// Noticed returns what a run notices: ids, and what happened.
func Noticed() []Discount {
	var out []Discount
	for _, n := range NewRun().notices {
		out = append(out, Discount{n.id, n.what})
	}
	return out
}

func discountsOf[F any](table []row[F]) []Discount {
	var out []Discount
	for _, r := range table {
		out = append(out, r.Discount)
	}
	return out
}
