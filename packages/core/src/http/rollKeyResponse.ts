/**
 * The response of rolling a key: a `Location`, and the key itself if the request asks for it, or if its value cannot be
 * read again later.
 */

import type { KeyStorage } from "@tollgate/store/internal"
import { Effect } from "effect"
import type { AnyRequest } from "../api/AnyRequest.ts"
import type { ApiKey } from "../records/ApiKey.ts"
import { RequestContext } from "./RequestContext.ts"

export const locateRolledKey =
  (keyStorage: KeyStorage) =>
  (result: unknown, { params = {}, query = {} }: AnyRequest) =>
    Effect.map(RequestContext, ({ basePath }) => {
      const key = result as ApiKey
      const { accountName = "", bucketName = "", consumerName = "" } = params
      const segments = ["accounts", accountName, "key-buckets", bucketName, "consumers", consumerName, "keys", key.id]
      const location = `${basePath}/v1/${segments.map(encodeURIComponent).join("/")}`
      return { location, body: keyStorage === "hash-only" || query["keyFormat"] === "visible" ? key : undefined }
    })
