# A slow query before a quick one, for a server without clients, on the data that packages.py makes.
# The first of all is slow, too, where the machine is busy.
printf "select 'first';\nselect 'slow', pg_sleep(1);\nselect 'quick';\n" |
	/run/package/usr/lib/postgresql/*/bin/postgres --single -D /tmp/told/data postgres >/dev/null 2>&1
