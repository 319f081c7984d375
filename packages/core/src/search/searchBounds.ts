/** Key buckets and metering buckets that one search reads, and how many at once. */
export const maxBuckets = 100
export const bucketConcurrency = 8
