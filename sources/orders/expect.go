package orders

// Expected is what the first n events come to.
type Expected struct {
	Events     int64 // rows, duplicates included
	Orders     int64 // distinct order ids
	Duplicates int64 // events that repeat an earlier one: Events - Orders
	Late       int64 // events, duplicates included, whose event time lies before its neighbours'
	Cents      int64 // sum of amount over all events, in hundredths
	OrderCents int64 // sum of amount over distinct orders, in hundredths
}

// Expect computes what a table must hold after the first n events of a seed. It takes about 10 ns an event.
func Expect(seed uint64, n int64) Expected {
	g := newGenerator(seed)
	x := Expected{Events: n}
	var l layout
	for i := range n {
		if i%block == 0 {
			l = g.layout(i / block)
		}
		e := g.at(i, l)
		x.Cents += e.cents
		if e.late {
			x.Late++
		}
		if e.duplicate {
			x.Duplicates++
		} else {
			x.OrderCents += e.cents
		}
	}
	x.Orders = x.Events - x.Duplicates
	return x
}
