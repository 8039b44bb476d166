/** What shells source: they ask `refit __complete` with the words so far, and show what it prints. */

const bash = `# Completion of refit for bash.
_refit_complete() {
  local line="\${COMP_LINE:0:COMP_POINT}" word out
  local -a words=()
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  local current="\${words[\${#words[@]}-1]}"
  COMPREPLY=()
  out=$("$1" __complete "\${words[@]:1}" 2>/dev/null) || return
  while IFS=$'\\t' read -r word _; do
    [[ $word == :* ]] || COMPREPLY+=("$word")
  done <<< "$out"
  if [[ \${#COMPREPLY[@]} -eq 0 ]]; then
    [[ $out == *:0 ]] && compopt -o default 2>/dev/null
    return
  fi
  # Bash takes "=" and ":" for ends of words, and puts what is chosen after the last of them.
  local kept="\${current%"\${current##*[=:]}"}"
  COMPREPLY=("\${COMPREPLY[@]#"$kept"}")
}
complete -F _refit_complete refit
`;

const zsh = `#compdef refit
# Completion of refit for zsh.
_refit() {
  local out line word help
  local -a candidates
  out=$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null) || return 1
  for line in "\${(@f)out}"; do
    [[ $line == :* ]] && continue
    word=\${line%%$'\\t'*}
    help=\${line#"$word"}
    candidates+=("\${word//:/\\\\:}\${help:+:\${help#$'\\t'}}")
  done
  if (( $#candidates )); then
    _describe refit candidates
  elif [[ $out == *:0 ]]; then
    _files
  fi
}
if [[ $funcstack[1] == _refit ]]; then
  _refit "$@"
else
  compdef _refit refit
fi
`;

const fish = `# Completion of refit for fish.
function __refit_complete
    set -l current (commandline -ct)
    set -l words (commandline -opc) "$current"
    set -l out ($words[1] __complete $words[2..-1] 2>/dev/null)
    or return
    string match -v ':*' -- $out
    if test "$out[-1]" = ":0"
        __fish_complete_path "$current"
    end
end
complete -c refit -f -a '(__refit_complete)'
`;

/** kubectl runs it with the words after \`kubectl refit\`. */
const kubectl = `#!/bin/sh
exec kubectl-refit __complete "$@"
`;

export const completionScripts: Readonly<Record<string, string>> = { bash, zsh, fish, kubectl };
