# The server of `npm start`, with its settings as environment variables: docs/operations/docker.md.
FROM node:24-slim AS install
WORKDIR /app
COPY package.json package-lock.json ./
COPY packages packages
COPY examples examples
# The server runs from the sources, so it needs the packages that `tollgate` consists of.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund --workspace @tollgate/example-express-sqlite \
  -w packages/console -w packages/core -w packages/decisions -w packages/deployments -w packages/express -w packages/memory \
  -w packages/node -w packages/opentelemetry -w packages/portal -w packages/postgres -w packages/redis -w packages/sites \
  -w packages/sqlite -w packages/store -w packages/webhooks

FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 TOLLGATE_DATA=/data
COPY --from=install /app /app
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "--eval", "fetch('http://127.0.0.1:3000/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--conditions=@tollgate/source", "examples/express-sqlite/src/main.ts"]
