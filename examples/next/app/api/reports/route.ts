import { withKey } from "../../../lib/tollgate"

export const POST = withKey(async (request, { consumer }) => {
  const { month } = (await request.json()) as { readonly month?: string }
  if (month === undefined) return Response.json({ error: "month is missing" }, { status: 400 }) // costs nothing
  return Response.json({ month, for: consumer.name })
})
