# Records 7 (Mercury version) and d (instruction set), little-endian: minor, then major number.
p() { python3 $PATCH a.cubin $1.cubin body:.nv.compat=0209000002020100$2040b08000900000000000000; }
p twice 0307010103070201
p seven-2 03070201
p seven-3 03070301
p major 03070002
p d-4 030d040103070101
p d-5 030d050103070101
p d-first 030d01010307ff01
