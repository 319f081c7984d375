interface NodeRequest {
  readonly socket: object
  readonly stream?: { readonly session?: object | undefined } | undefined
}

/** What all requests of a connection share. With HTTP/2, each request has a socket object of its own. */
export const getConnection = ({ stream, socket }: NodeRequest): object => stream?.session ?? socket
