"use strict";

const http = require("node:http");

function createServer(users) {
  return http.createServer((request, response) => {
    response.end(`hello, you are one of ${users.size}\n`);
  });
}

module.exports = { createServer };
