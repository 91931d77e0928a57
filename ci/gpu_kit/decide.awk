# Compares the figures of a session with the expected ones and decides. Reads expected.tsv, then figures.tsv; -F'\t'.
#   -v part=N   one part alone; -v card=NAME the card's kind; -v as=text|markdown|list; -v dry=yes says the rules alone
# Several figures of one name count as their mean. A change is kept if its figure is more than 0.5 % better than its reference,
# and taken back if it is more than 0.5 % worse. In between it is measured again: repetitions of one cell on one card stay
# within 0.7 % of their middle.
function better(unit, ratio) { return unit ~ /\/s$/ ? 1 / ratio : ratio }  # a higher rate is better
function text_of(value) { return value == "-" || value == "" ? "-" : sprintf(value >= 100 ? "%.1f" : "%.3g", value) }
function change_text(value, reference) { return reference + 0 ? sprintf("%+.1f %%", 100 * (value / reference - 1)) : "-" }
function verdict(i, value,    reference, ratio) {
  if (unit[i] == "apart") return value + 0 <= expected[i] + 0 ? "alike" : "DIFFERENT: look at it before anything else"
  if (change[i] == "ceiling") return value < 0.95 * expected[i] ? "STOP" : "reached"
  if (change[i] == "-") return ""
  reference = against[i] in row && (row[against[i]] in mean) ? mean[row[against[i]]] : before[i]
  if (reference == "-" || reference == "") return "measure again"
  ratio = better(unit[i], value / reference)
  if (ratio < 0.995) return "keep " change[i]
  if (ratio > 1.005) return "take back " change[i]
  return "measure " change[i] " again"
}
function reference_of(i) {
  if (against[i] in row && (row[against[i]] in mean)) return against[i] " " text_of(mean[row[against[i]]])
  return before[i] == "-" ? "" : "before " text_of(before[i])
}
function reference_value(i) {
  return against[i] in row && (row[against[i]] in mean) ? mean[row[against[i]]] : before[i]
}
FNR == NR {
  if ($0 ~ /^#/ || NF < 9 || (part != "" && $1 != part)) next
  if (card != "" && $3 != card && $3 != "any") next
  key = $1 SUBSEP $2
  n++
  number[n] = $1; name[n] = $2; of_card[n] = $3; unit[n] = $4; before[n] = $5; expected[n] = $6; torch[n] = $7
  change[n] = $8; against[n] = $1 SUBSEP $9; at[key] = n
  row[key] = key
  next
}
{
  if (part != "" && $1 != part) next
  key = $1 SUBSEP $2
  sum[key] += $4; count[key]++; mean[key] = sum[key] / count[key]; seen_unit[key] = $3
  if (!(key in at) && !(key in extra)) { extra[key] = ++extras; extra_key[extras] = key }
}
END {
  if (as == "markdown" && n + extras) print "| part | figure | unit | before | expected | measured | PyTorch | verdict |\n|" \
    " --- | --- | --- | --- | --- | --- | --- | --- |"
  for (i = 1; i <= n; ++i) {
    key = number[i] SUBSEP name[i]
    if (dry == "yes") {
      printf "  %s on %s: before %s, expected %s %s%s\n", name[i], of_card[i], text_of(before[i]), text_of(expected[i]), unit[i],
        change[i] == "-" ? "" : ", decides " change[i]
      continue
    }
    if (!(key in mean)) {
      if (as == "text") printf "%s: %s was not measured\n", number[i], name[i]
      if (as == "markdown") printf "| %s | %s | %s | %s | %s | not measured | %s | |\n", number[i], name[i], unit[i],
        text_of(before[i]), text_of(expected[i]), text_of(torch[i])
      continue
    }
    said = verdict(i, mean[key])
    gsub(SUBSEP, " ", said)
    if (as == "text") {
      held = reference_of(i); sub(/^[^ ]*\034/, "", held)
      printf "%s: %s%s %s %s, expected %s%s\n", number[i], said == "" ? "" : said ": ", name[i], text_of(mean[key]), unit[i],
        text_of(expected[i]), held == "" ? "" : "; " held ", " change_text(mean[key], reference_value(i))
    } else if (as == "markdown") {
      printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", number[i], name[i], unit[i], text_of(before[i]),
        text_of(expected[i]), text_of(mean[key]), text_of(torch[i]), said
    } else if (said ~ /^(keep|take back|measure|DIFFERENT|STOP)/) {
      printf "- %s (%s %s %s)\n", said, name[i], text_of(mean[key]), unit[i]
    }
  }
  for (j = 1; j <= extras; ++j) {
    split(extra_key[j], words, SUBSEP)
    if (as == "text") printf "%s: %s %s %s, nothing was expected\n", words[1], words[2], text_of(mean[extra_key[j]]), seen_unit[extra_key[j]]
    if (as == "markdown") printf "| %s | %s | %s | - | - | %s | - | |\n", words[1], words[2], seen_unit[extra_key[j]], text_of(mean[extra_key[j]])
  }
}
