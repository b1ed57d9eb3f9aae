"""The connection to the database."""

import logging

log = logging.getLogger(__name__)


def connect(driver, url):
    return driver.connect(url)
