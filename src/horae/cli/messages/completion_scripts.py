"""Shell completion scripts; each calls `horae completion answer`, so that it need not be updated."""

from __future__ import annotations

from typing import Final

BASH: Final = r"""# horae: completion for bash. Load it with: source <(horae completion bash)
_horae_completion() {
    local line IFS=$'\n'
    COMPREPLY=()
    for line in $(horae completion answer -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
        COMPREPLY+=("$(printf '%q' "${line%%$'\t'*}")")
    done
}
complete -o default -F _horae_completion horae
"""
ZSH: Final = r"""#compdef horae
# horae: completion for zsh. Load it with: source <(horae completion zsh)
_horae_completion() {
    local -a values notes
    local row
    for row in "${(@f)$(horae completion answer -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $row ]] || continue
        values+=("${row%%$'\t'*}")
        notes+=("${row//$'\t'/  }")
    done
    if (( $#values )); then compadd -d notes -a values; else _files; fi
}
compdef _horae_completion horae
"""
FISH: Final = r"""# horae: completion for fish. Load it with: horae completion fish | source
complete -c horae -a '(horae completion answer -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
"""
POWERSHELL: Final = r"""# horae: completion for PowerShell. Load it with: horae completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName horae -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $before = @(
        $commandAst.CommandElements | Select-Object -Skip 1 |
            Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
            ForEach-Object {
                if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value }
                else { $_.Extent.Text }
            }
    )
    $begun = "$wordToComplete".Trim('"', "'")
    # Before 7.3 an empty word would not arrive at all.
    $shell = $PSVersionTable.PSVersion
    if ($begun -eq '' -and (100 * $shell.Major + $shell.Minor) -lt 703) { $begun = '""' }
    horae completion answer '--' @before $begun 2>$null | ForEach-Object {
        $value, $note = $_ -split "`t", 2
        $text = if ($value -match '[\s''"]') { "'" + $value.Replace("'", "''") + "'" } else { $value }
        $tip = if ($note) { $note } else { $value }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $tip)
    }
}
"""
SCRIPTS: Final = {"bash": BASH, "zsh": ZSH, "fish": FISH, "powershell": POWERSHELL}
