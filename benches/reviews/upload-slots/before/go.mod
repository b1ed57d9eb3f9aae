module example.org/uploads

go 1.22
