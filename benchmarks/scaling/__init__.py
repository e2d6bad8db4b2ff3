"""Beyond this machine: generations on 1 to 10,000 CPUs, simulated from what was measured on two."""
