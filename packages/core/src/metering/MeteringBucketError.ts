import { Schema } from "effect"
import { defineError } from "../errors/defineError.ts"

/** The code `bucket-not-found` and the schema name are part of the HTTP API and cannot change. */
export class MeteringBucketNotFound extends defineError<MeteringBucketNotFound>()(
  "MeteringBucketNotFound",
  {
    code: "bucket-not-found",
    status: 404,
    title: "Metering bucket not found",
    detail: ({ bucketId }) => `Metering bucket "${bucketId}" does not exist`,
    schemaName: "BucketNotFoundProblem"
  },
  { bucketId: Schema.String }
) {}

export class MeteringBucketNameTaken extends defineError<MeteringBucketNameTaken>()(
  "MeteringBucketNameTaken",
  {
    code: "bucket-name-taken",
    status: 409,
    title: "Metering bucket name already in use",
    detail: ({ meteringBucketName }) =>
      `The account has a metering bucket named "${meteringBucketName}" already. Choose another name.`
  },
  { meteringBucketName: Schema.String }
) {}
