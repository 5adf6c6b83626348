package prompts

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-conform/mcp-conform/internal/client"
	"github.com/mcp-conform/mcp-conform/internal/inventory"
	"github.com/mcp-conform/mcp-conform/internal/lazyregexp"
	"github.com/mcp-conform/mcp-conform/internal/spec"
	"github.com/mcp-conform/mcp-conform/internal/suite"
	"github.com/mcp-conform/mcp-conform/internal/transcript"
	"github.com/mcp-conform/mcp-conform/internal/verdict"
)

const validates = "prompts.security.validate-inputs-and-outputs"

// mentionsFiles matches descriptions of prompts that take file names. Such a prompt is permitted to
// show the file.
var mentionsFiles = lazyregexp.New(`(?i)file|path|ur[il]|dir|folder|document|source|load|read|open|attach|include|resource|image|data|code|log|project|repo`)

// sendFileNames passes file names to prompts that do not mention files, and looks for the content
// of the files in the results.
func sendFileNames(ctx context.Context, t *suite.T) {
	prompts := firstPrompts(t, maxProvoked, takesNoFiles)
	if len(prompts) == 0 {
		t.Skip("each prompt with arguments may expect the name of a file")
	}
	c := t.Conversation(ctx)
	if !suite.IsOnSameMachine(c) {
		t.GiveUp("the server may run on another machine, where mcp-conform can't write a file for it")
	}
	folder, err := os.MkdirTemp("", "mcp-conform-")
	if err != nil {
		t.GiveUp("mcp-conform could not write a file: " + err.Error())
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path, content := filepath.Join(folder, "note.txt"), "mcp-conform-"+rand.Text()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.GiveUp("mcp-conform could not write a file: " + err.Error())
	}
	g := newGetter(c)
	for _, p := range prompts {
		for _, name := range []string{path, suite.FileURI(path)} {
			reply, more := g.getPromptReply(ctx, p.Name, argumentsWith(p, name))
			if reply.Succeeded() && strings.Contains(string(reply.Message.Raw), content) {
				t.Report(c, verdict.Deviation{
					Requirement: validates,
					Summary:     "The server's prompt shows a file named in its argument.",
					Permitted:   "the argument unchanged, or an error: nothing says that the argument names a file",
					Seen:        suite.Describe(reply),
					At:          transcript.Positions(reply.Sent, reply.Event),
					Weight:      verdict.OnlyNote, // the prompt may be made for files, and say so in other words
				})
				return
			}
			if reply.Answered() {
				t.MarkKept(validates)
			}
			if !more {
				return
			}
		}
	}
}

func takesNoFiles(p inventory.Prompt) bool {
	text := p.Name + " " + p.Description
	for _, a := range p.Arguments {
		text += " " + a.Name + " " + a.Description
	}
	return len(p.Arguments) > 0 && !mentionsFiles.MatchString(text)
}

func argumentsWith(p inventory.Prompt, value string) map[string]any {
	out := map[string]any{}
	for _, a := range p.Arguments {
		out[a.Name] = value
	}
	return out
}

// getPromptReply gets a prompt, and reports whether more requests may follow.
func (g getter) getPromptReply(ctx context.Context, name string, arguments map[string]any) (r *client.Reply, more bool) {
	r = g.c.Do(ctx, spec.MethodPromptsGet, map[string]any{"name": name, "arguments": arguments}, client.Within(getTime))
	return r, g.hasTime(ctx)
}
