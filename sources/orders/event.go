package orders

import "fmt"

const (
	block      = 100            // events a block
	maxEvents  = 1e12           // order ids have 12 digits
	stepMicros = 100_000        // event time between two events
	lateMin    = 5 * 60 * 1e6   // µs
	lateMax    = 6 * 3600 * 1e6 // µs
	customers  = 20_000
)

// product is something that can be ordered.
type product struct {
	name  string
	cents int64
}

func products() []product {
	return []product{
		{"espresso beans 1kg", 1890}, {"filter papers", 349}, {"hand grinder", 7900}, {"milk jug", 1650}, {"cup, blue", 895}, {"cup, white", 895},
		{"scale", 4599}, {"kettle", 6450}, {"tamper", 2999}, {"descaler", 799}, {"drip stand", 3425}, {"travel press", 2775},
	}
}

// market is a country with its currency; the first ones sell more.
type market struct{ country, currency string }

func markets() []market {
	return []market{
		{"DE", "EUR"}, {"DE", "EUR"}, {"FR", "EUR"}, {"FR", "EUR"}, {"NL", "EUR"}, {"US", "USD"}, {"US", "USD"}, {"GB", "GBP"}, {"CH", "CHF"}, {"SE", "SEK"},
	}
}

func statuses() []string {
	return []string{"paid", "paid", "paid", "paid", "placed", "placed", "shipped", "cancelled"}
}

// event is one event as numbers; the words are looked up when columns are made.
type event struct {
	order     int64 // number of the order: the index of the event that first told it
	customer  int
	product   int
	market    int
	status    int
	quantity  int32
	cents     int64
	micros    int64 // event time since Config.Start
	duplicate bool
	late      bool
}

// generator makes events of a seed. It is immutable.
type generator struct {
	seed     uint64
	products []product
	markets  []market
	statuses []string
	names    []string // of customers
}

func newGenerator(seed uint64) *generator {
	g := &generator{seed: mix(seed), products: products(), markets: markets(), statuses: statuses(), names: make([]string, customers)}
	for i := range g.names {
		g.names[i] = fmt.Sprintf("customer-%05d", i)
	}
	return g
}

// layout says which positions of a block are special.
type layout struct{ duplicate, original, lateA, lateB int64 }

func (g *generator) layout(b int64) layout {
	r := mix(g.seed ^ uint64(b)*0x9e3779b97f4a7c15)
	return layout{
		duplicate: 50 + int64(r%50),
		original:  int64(r >> 8 % 50),
		lateA:     int64(r >> 16 % 25),
		lateB:     25 + int64(r>>24%25),
	}
}

// at is event i. l is the layout of its block.
func (g *generator) at(i int64, l layout) event {
	position, origin := i%block, i
	duplicate := position == l.duplicate
	if duplicate {
		origin = i - position + l.original
		position = l.original
	}
	e := g.order(origin)
	e.duplicate = duplicate
	if position == l.lateA || position == l.lateB {
		e.late = true
		e.micros -= lateMin + int64(mix(g.seed+uint64(origin))%uint64(lateMax-lateMin))
	}
	return e
}

// order is event i as if it were neither late nor a duplicate.
func (g *generator) order(i int64) event {
	r := mix(g.seed + uint64(i)*0xbf58476d1ce4e5b9)
	p := int(r % uint64(len(g.products)))
	quantity := 1 + int32(r>>8%uint64(4))
	// The smaller of two draws: some customers order far more often than others.
	customer := min(r>>16%customers, r>>32%customers)
	return event{
		order:    i,
		customer: int(customer),
		product:  p,
		market:   int(r >> 48 % uint64(len(g.markets))),
		status:   int(r >> 56 % uint64(len(g.statuses))),
		quantity: quantity,
		cents:    int64(quantity) * g.products[p].cents,
		micros:   i * stepMicros,
	}
}

// mix is the finalizer of SplitMix64: every input bit changes about half of the output bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
