import { Stream } from "effect"
import { projectPartition } from "../deployments/model/deploymentRecords.ts"
import { projects } from "../deployments/model/nameRecords.ts"
import { keyBucketRecords } from "../keys/keyBucketRecords.ts"
import { directoryRecords } from "../metering/model/meteringDirectoryRecords.ts"
import { getKeyBucketPartition } from "../records/keyBucketPartition.ts"
import * as Partition from "../store/Partition.ts"

/** All partitions with records of an account. */
export const listPartitions = (accountName: string) => {
  const query = { where: [`account:${accountName}`], pageSize: 1000 }
  return Stream.succeed(Partition.forEvents(accountName)).pipe(
    Stream.concat(
      Stream.map(keyBucketRecords.stream(Partition.keysDirectory, query), ({ value }) => getKeyBucketPartition(value))
    ),
    Stream.concat(
      Stream.map(directoryRecords.stream(Partition.meteringDirectory, query), ({ value }) =>
        Partition.forMeteringBucket(value.bucket.id)
      )
    ),
    Stream.concat(
      Stream.map(projects.stream(Partition.deploymentDirectory, query), ({ value }) => projectPartition(value))
    )
  )
}
