module example.org/limits

go 1.22
