"""BTF: the compact types of kernels and modules, made into objects one by one."""
