"""A client and a server of TLS in one process: what one encrypts the other one decrypts."""

import ssl

there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain("cert.pem", "key.pem")
client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
client.check_hostname = False
client.verify_mode = ssl.CERT_NONE
asking = client.wrap_bio(back, there)
answering = server.wrap_bio(there, back, server_side=True)
waiting = [asking, answering]
while waiting:
    for one in list(waiting):
        try:
            one.do_handshake()
            waiting.remove(one)
        except ssl.SSLWantReadError:
            pass
asking.write(b"not even Python's")
answering.read(99)
