module example.org/avatars

go 1.22
