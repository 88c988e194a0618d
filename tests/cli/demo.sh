sis demo
