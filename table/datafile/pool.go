package datafile

// secondWriterBytes is how much a partition gets per open file before another goroutine, instead of waiting, opens one more (F4).
const secondWriterBytes = 8 << 20

// acquire is a writer for the partition that nobody else uses; nil if the piece has to be spilled.
func (s *Stage) acquire(p piece) (*writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	part, err := s.partition(p)
	if err != nil {
		return nil, err
	}
	for {
		if n := len(part.free); n > 0 {
			w := part.free[n-1]
			part.free = part.free[:n-1]
			return w, nil
		}
		if s.spilling[p.key] {
			return nil, nil
		}
		if part.named && part.open == 0 { // beside the others: who names places has few of them open
			return s.openWriter(part), nil
		}
		if s.open < s.spec.MaxOpen && part.bytes >= int64(part.open)*secondWriterBytes {
			return s.openWriter(part), nil
		}
		if part.open == 0 { // there is no room for its file
			return nil, nil
		}
		s.idle.Wait()
	}
}

func (s *Stage) partition(p piece) (*partition, error) {
	if part := s.parts[p.key]; part != nil {
		return part, nil
	}
	dir, err := directory(s.spec.PartitionBy, p.values)
	if err == nil {
		err = s.splitter.readable(p)
	}
	if err != nil {
		return nil, err
	}
	part := &partition{dir: dir, values: map[string]*string{}}
	for i, c := range s.spec.PartitionBy {
		part.values[c] = p.values[i]
	}
	s.parts[p.key] = part
	return part, nil
}

// openWriter takes a number and a place; the file itself is created at the first write, outside the lock.
func (s *Stage) openWriter(part *partition) *writer {
	codec := codecName(s.spec.Parquet)
	options, noStats := indexed(s.spec.Parquet, s.spec.Indexed)
	if options.RowGroupBytes == 0 && s.splitter != nil && s.open >= 8 {
		options.RowGroupBytes = 2 << 20 // many open files share the memory of a few
	}
	w := &writer{stage: s, part: part, key: part.dir + s.spec.Name.file(s.next, codec), options: options, noStats: noStats}
	s.next++
	s.open++
	part.open++
	s.keys = append(s.keys, w.key)
	return w
}

func (s *Stage) giveBack(w *writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.part.bytes += w.size() - w.counted
	w.counted = w.size()
	w.part.free = append(w.part.free, w)
	s.idle.Broadcast()
}
