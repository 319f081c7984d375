import { withKey } from "../../../lib/tollgate"

export const GET = withKey((_request, { consumer }) => Response.json(consumer.remaining))
