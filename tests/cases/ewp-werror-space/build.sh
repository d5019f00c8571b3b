for n in 90 120; do
  ptxas -arch=sm_$n -c a.txt -o a$n.cubin
  ptxas -arch=sm_$n -c b.txt -o b$n.cubin
  ptxas -arch=sm_$n -ewp b.txt -o e$n.cubin
done
