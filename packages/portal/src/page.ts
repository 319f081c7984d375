/**
 * Serves the page of the portal at `/portal/`.
 */
import { addSettings, makeAppRoutes, type ServedRoute } from "@tollgate/core/module"
import { files } from "./files.generated.ts"
import type { PortalLooks } from "./portalOptions.ts"

export const makePortalRoutes = (looks: PortalLooks): ReadonlyArray<ServedRoute> =>
  makeAppRoutes(
    "portal",
    files.map(({ gzipBase64, ...file }) => addSettings({ ...file, gzip: Buffer.from(gzipBase64, "base64") }, looks))
  )
