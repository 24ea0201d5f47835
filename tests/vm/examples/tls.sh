# A client of OpenSSL tells a server something, and Python's library does with itself.
set -e
folder=$(realpath "$(dirname "$0")")
made=$(mktemp -d)
cd "$made"
trap 'rm -r "$made"' EXIT
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem \
    -subj /CN=told -days 2 2>/dev/null
mkfifo held # what the server reads does not end before this script does
openssl s_server -accept 4319 -key key.pem -cert cert.pem -naccept 1 <held >said 2>&1 &
exec 9>held
until grep -q ACCEPT said; do sleep 0.1; done
{ echo "nobody sees it"; sleep 1; } | openssl s_client -connect 127.0.0.1:4319 -quiet -no_ign_eof >/dev/null 2>&1 || :
until grep -q "nobody sees it" said; do sleep 0.1; done
kill $! 2>/dev/null || :
python3 -IS "$folder/tls.py"
