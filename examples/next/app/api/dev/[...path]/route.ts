import { gate } from "../../../gate"

const handle = (request: Request): Promise<Response> =>
  gate.handler(new Request(request.url.replace("/api/dev", ""), request))

export { handle as DELETE, handle as GET, handle as PATCH, handle as POST, handle as PUT }
