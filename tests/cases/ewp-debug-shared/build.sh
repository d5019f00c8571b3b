for n in 90 120; do
  for f in a b m f h; do ptxas -arch=sm_$n -ewp -g $f.txt -o $f$n.cubin; done
  ptxas -arch=sm_$n -c -g b.txt -o c$n.cubin
  ptxas -arch=sm_$n -ewp b.txt -o d$n.cubin
  ptxas -arch=sm_$n -c -g K.txt -o K$n.cubin
done
