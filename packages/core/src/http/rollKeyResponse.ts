/**
 * The response of rolling a key: a `Location`, and the key itself only if its value cannot be read again later.
 */
import { Effect } from "effect"
import type { KeyStorage } from "../crypto/SecretBox.ts"
import type { AnyRequest } from "../operations/checkOwner.ts"
import type { ApiKey } from "../records/ApiKey.ts"
import { RequestContext } from "./RequestContext.ts"

export const locateRolledKey =
  (keyStorage: KeyStorage) =>
  (result: unknown, { params = {} }: AnyRequest) =>
    Effect.map(RequestContext, ({ basePath }) => {
      const key = result as ApiKey
      const { accountName = "", bucketName = "", consumerName = "" } = params
      const segments = ["accounts", accountName, "key-buckets", bucketName, "consumers", consumerName, "keys", key.id]
      const location = `${basePath}/v1/${segments.map(encodeURIComponent).join("/")}`
      return { location, body: keyStorage === "hash-only" ? key : undefined }
    })
