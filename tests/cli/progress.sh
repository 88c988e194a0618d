# The bar in all widths, and that nobody sees it who should not.
for width in 100 79 60 50 40 30 20 10 1; do
    try bar --done 12 --walk 0.5 --evaluations 4321000 --seconds 123 --width $width
done
try bar
try bar --done 100 --seconds 9.5
try bar --done 1 --seconds 1000000 --evaluations 5
try bar --play 2>err
wc -c <err
