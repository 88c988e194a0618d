# A manual page from the tables: backslashes, leading dots and dashes reach the reader.
try help --man parse
try help --man
