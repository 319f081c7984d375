import { withApiKey } from "@tollgate/fetch"
import { billing, production } from "../../gate"

const metering = { meteringBucketId: billing.id, meters: { requests: 1 } }

export const GET = withApiKey(production, { metering }, (_request, { consumer }) =>
  Response.json({ hello: consumer.name, remaining: consumer.remaining["requests"] })
)
