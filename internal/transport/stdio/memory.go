package stdio

// Resident implements transport.Weighed: it is false for a server within this
// process, for one that has ended, and where the system does not tell.
func (l *link) Resident() (int64, bool) {
	p, ok := l.peer.(*process)
	if !ok {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return 0, false
	}
	return resident(p.cmd.Process.Pid)
}
