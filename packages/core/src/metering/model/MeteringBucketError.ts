import { defineError, pathName } from "@tollgate/store/internal"
import { Schema } from "effect"

const isPathName = Schema.is(pathName)

/** Whether the caller may have passed the name of a metering bucket instead of its id. */
const isPossibleName = (bucketId: string): boolean => !bucketId.startsWith("bckt_") && isPathName(bucketId)

/** The code `bucket-not-found` and the schema name are part of the HTTP API and cannot change. */
export class MeteringBucketNotFound extends defineError<MeteringBucketNotFound>()(
  "MeteringBucketNotFound",
  {
    code: "bucket-not-found",
    status: 404,
    title: "Metering bucket not found",
    meaning: "The metering bucket does not exist, or belongs to another account.",
    remedy: "Check the ID and the account. List the metering buckets to find the ID by name.",
    detail: ({ bucketId }) =>
      isPossibleName(bucketId)
        ? `No metering bucket has the id "${bucketId}": ids begin with "bckt_". In process, meteringBucket("${bucketId}") ` +
          `finds a metering bucket by its name; over HTTP, GET /v1/metering?name=${bucketId} does`
        : `Metering bucket "${bucketId}" does not exist`,
    schemaName: "BucketNotFoundProblem"
  },
  { bucketId: Schema.String.annotate({ description: "The requested ID." }) }
) {}

export class MeteringBucketNameTaken extends defineError<MeteringBucketNameTaken>()(
  "MeteringBucketNameTaken",
  {
    code: "bucket-name-taken",
    status: 409,
    title: "Metering bucket name already in use",
    meaning: "The account already has a metering bucket of this name.",
    remedy: "Choose another name, or use the existing metering bucket.",
    detail: ({ meteringBucketName }) =>
      `The account has a metering bucket named "${meteringBucketName}" already. Choose another name.`
  },
  { meteringBucketName: Schema.String.annotate({ description: "The requested name." }) }
) {}
