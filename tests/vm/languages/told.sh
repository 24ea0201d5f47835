# Queries for a server without clients, on the data that test_languages.py makes.
printf "select 'told' as word;\ncreate table t (a int);\ninsert into t select generate_series(1, 100);\nselect a from t order by a desc;\nselect nothing;\n" |
	/run/package/usr/lib/postgresql/*/bin/postgres --single -D /tmp/told/data postgres >/dev/null 2>&1
