package stdio

// ResidentMemory implements transport.MemoryMeter. It returns false if the server runs inside this
// process or has exited, or if the system does not report memory use.
func (l *link) ResidentMemory() (int64, bool) {
	p, ok := l.peer.(*process)
	if !ok {
		return 0, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return 0, false
	}
	return residentMemory(p.cmd.Process.Pid)
}
