# The same option has one letter, one kind of value and one meaning of that letter in every command;
# every help opens with an example and is short: 45 lines, or 85 under headings.
for command in $(sis help --names); do
    sis "$command" --help > help.txt
    awk -v c="$command" 'NR == 3 && $0 !~ "^    sis " c { print c ": no example on top" }
        length($0) > 79 { print c ": a line of " length($0) " columns" }
        /^[A-Z][a-z]+:$/ { headings++ }
        END { if (NR > (headings ? 85 : 45)) print c ": " NR " lines of help" }' help.txt
    awk -v c="$command" '/^ +(-., )?--[a-z]/ {
        letter = $1 ~ /^-.,$/ ? substr($1, 2, 1) : "none"
        name = letter == "none" ? $1 : $2
        value = $(letter == "none" ? 2 : 3)
        print name, letter, (value ~ /^[A-Z][A-Z:.,a-z\[\]]*$/ ? value : "flag"), c
    }' help.txt >> options.txt
done
wc -l < options.txt | awk '{ print ($1 > 100 ? "options were read" : "too few options: " $1) }'
awk '{ if ($1 in letter && letter[$1] != $2) print $1 ": letter " $2 " in " $4 ", " letter[$1] " before"
       letter[$1] = $2
       if ($2 != "none") { if ($2 in name && name[$2] != $1) print "-" $2 ": " $1 " in " $4 ", " name[$2] " before"; name[$2] = $1 } }' options.txt
# (--motif names a file for evaluate, and a motif in one for data; --keep a decision for explain, and how many
# checkpoints stay for train.)
grep -v -E '^--(motif|keep) ' options.txt | awk '{ sub(/\..*/, "", $3); if ($1 in value && value[$1] != $3) print $1 ": " $3 " in " $4 ", " value[$1] " before"; value[$1] = $3 }'
