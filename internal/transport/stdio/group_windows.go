package stdio

import (
	"errors"
	"fmt"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is a job object: all processes that the server starts belong to it,
// and the system kills them when the last handle of the job is closed, even if
// that happens because this program died.
type group struct {
	job     windows.Handle
	cleared bool
}

// start starts cmd suspended, and resumes it once it is in the job, so that
// all of its children are in the job too.
func (g *group) start(cmd *exec.Cmd) error {
	job, err := newJob()
	if err != nil {
		return fmt.Errorf("making a job object: %w", err)
	}
	cmd.SysProcAttr = &windows.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED,
	}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	if err := release(job, uint32(cmd.Process.Pid)); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return err
	}
	g.job = job
	return nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// release puts the suspended process into the job and lets it run.
func release(job windows.Handle, pid uint32) error {
	p, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return fmt.Errorf("opening the new process: %w", err)
	}
	defer func() { _ = windows.CloseHandle(p) }()
	if err := windows.AssignProcessToJobObject(job, p); err != nil {
		return fmt.Errorf("putting the new process into its job object: %w", err)
	}
	return resume(pid)
}

// resume resumes the only thread of a process that was started suspended. It
// looks the thread up, because os.StartProcess closed the thread's handle.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("listing threads: %w", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("opening the new process's thread: %w", err)
		}
		defer func() { _ = windows.CloseHandle(thread) }()
		if _, err := windows.ResumeThread(thread); err != nil {
			return fmt.Errorf("resuming the new process: %w", err)
		}
		return nil
	}
	return fmt.Errorf("finding the new process's thread: %w", err)
}

// signal returns false, because on Windows a process in its own group can receive neither TERM nor
// INT.
func (g *group) signal(string, func()) bool { return false }

func (g *group) kill() {
	if !g.cleared {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// awaitExit waits for the leader. The job outlives the leader.
func (g *group) awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

func (g *group) clear(*exec.Cmd) {
	g.kill()
	g.cleared = true
	_ = windows.CloseHandle(g.job)
}

func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

// ownGroup returns 0: Windows has no process groups.
func ownGroup() int { return 0 }
