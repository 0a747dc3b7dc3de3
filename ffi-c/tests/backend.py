"""An HTTP server that answers each request with its own name: backend.py NAME. Prints its port."""

import asyncio
import sys

NAME = sys.argv[1].encode()
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(NAME), NAME)


class Answer(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.seen = transport, b""

    def data_received(self, data):
        self.seen += data
        if self.seen.endswith(b"\r\n\r\n"):
            self.transport.write(ANSWER)
            self.transport.close()


async def main():
    server = await asyncio.get_running_loop().create_server(Answer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
