import { getTollgate } from "../../../../lib/tollgate"

const handle = async (request: Request) => {
  const { gate } = await getTollgate()
  return gate.handler(new Request(request.url.replace("/api/dev", ""), request))
}

export { handle as DELETE, handle as GET, handle as PATCH, handle as POST, handle as PUT }
